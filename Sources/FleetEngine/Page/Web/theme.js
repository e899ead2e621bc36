// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Light, dark, or as the system has it; the choice is all that this page keeps in the browser.

const themes = ["auto", "light", "dark"];
const key = "fleetpass-theme";

/** Takes over the kept choice, and gives what goes on to the next. */
export function useTheme(button) {
  let theme = themes.includes(localStorage.getItem(key)) ? localStorage.getItem(key) : "auto";
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
    button.setAttribute("aria-label", `Theme: ${theme}`);
  };
  const next = () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    localStorage.setItem(key, theme);
    apply();
  };
  button.onclick = next;
  apply();
  return next;
}
