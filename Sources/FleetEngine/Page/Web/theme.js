// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Light, dark, or as the system has it; the choice is all that this page keeps in the browser.

const themes = ["auto", "light", "dark"];
const key = "fleetpass-theme";

/** The choice that was kept; a browser may deny its storage. */
function kept() {
  try {
    return localStorage.getItem(key);
  } catch {
    return undefined;
  }
}

function keep(theme) {
  try {
    localStorage.setItem(key, theme);
  } catch {
    // It holds until the page is left.
  }
}

/** Takes over the kept choice, and gives what goes on to the next. */
export function useTheme(button) {
  const old = kept();
  let theme = themes.includes(old) ? old : "auto";
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
    button.setAttribute("aria-label", `Theme: ${theme}`);
  };
  const next = () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    keep(theme);
    apply();
  };
  button.onclick = next;
  apply();
  return next;
}
