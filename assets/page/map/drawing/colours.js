// The colours of a map: twenty for topics, hue groups where there are more, ten for categories, and a scale for numbers and dates.
(() => {
  "use strict";
  const { token, isDark } = window.SB;
  const LIGHT = ["#0f7f76", "#d9622b", "#4867c8", "#b8890b", "#a23e85", "#5a8f29", "#c23b3b", "#2f8fc4", "#7a5bc0", "#8a6a4f",
    "#1b9e77", "#e08a1e", "#6479a8", "#9c9a1d", "#d0568f", "#3f7d4e", "#e0665a", "#4fa7a7", "#9a77d1", "#6e7f80"];
  const DARK = ["#3fc3b6", "#f08a57", "#86a0f4", "#e2b93f", "#d97bbd", "#93c963", "#ee7a74", "#66bdec", "#ae94ee", "#c4a283",
    "#56d1a8", "#f5b25c", "#a0b3dd", "#cfcc57", "#f190bd", "#79bd8a", "#f7978c", "#84d4d4", "#c6abf3", "#a9b8b9"];
  // For categories: the least distance of any two in OKLab, as seen with normal, protanope, deuteranope and tritanope vision (Machado et
  // al. 2009) and from the grey of blanks, is as large as ten colours allow on a light and on a dark ground.
  const CATEGORIES = [
    ["#5c7f1b", "#ed92fa", "#681a84", "#62b811", "#8472fe", "#be6ba8", "#b2c19f", "#095807", "#73566b", "#4c48ce"],
    ["#b47699", "#c8efb3", "#4f6bee", "#cc2536", "#e37105", "#eb7ffa", "#ad36a7", "#3dcba8", "#f4c4fb", "#bdc51b"]];
  const VIRIDIS = ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];

  const bytes = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

  // OKLCH to sRGB (Ottosson 2020), clipped: equal steps of lightness look equal in every hue.
  function oklch(light, chroma, hue) {
    const a = chroma * Math.cos(hue), b = chroma * Math.sin(hue);
    const [l, m, s] = [light + 0.3963377774 * a + 0.2158037573 * b, light - 0.1055613458 * a - 0.0638541728 * b, light - 0.0894841775 * a - 1.291485548 * b].map((x) => x ** 3);
    return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s, -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s]
      .map((x) => Math.round(255 * Math.max(0, Math.min(1, x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055))));
  }

  // name: {id, hue?, hues?, shade?}; with a hue, ``shade`` in [0, 1] says how light it is within its group.
  function rgb(name) {
    if (name.id < 0) return grey();
    if (name.hue === undefined || name.hue === null) return bytes((isDark() ? DARK : LIGHT)[name.id % LIGHT.length]);
    const light = isDark() ? 0.66 + 0.2 * name.shade : 0.46 + 0.26 * name.shade;
    return oklch(light, 0.13 - 0.03 * Math.abs(name.shade - 0.5), 0.4 + (2 * Math.PI * name.hue) / name.hues);
  }
  const css = (parts) => `rgb(${parts[0]}, ${parts[1]}, ${parts[2]})`;

  function viridis(share) {
    const at = Math.max(0, Math.min(0.9999, share)) * (VIRIDIS.length - 1), low = bytes(VIRIDIS[Math.floor(at)]), high = bytes(VIRIDIS[Math.floor(at) + 1]);
    return low.map((part, i) => Math.round(part + (high[i] - part) * (at % 1)));
  }

  // The part of the scale that is seen on the ground: its dark end vanishes on a dark one, its yellow end on a light one.
  const shade = (share) => viridis(isDark() ? 0.24 + 0.76 * share : 0.92 * share);
  const categories = () => CATEGORIES[isDark() ? 1 : 0].map(bytes);
  const grey = () => bytes(token("--sb-noise"));

  window.SB.mapping = { rgb, css, shade, categories, grey, bytes };
})();
