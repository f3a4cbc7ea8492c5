// Starts what was saved of a comparison: one file, nothing is fetched.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.body.classList.add("dark");
  document.title = document.querySelector("h1").textContent = data.title;
  document.querySelector("header p").textContent = data.made;
  window.SB.views.changed(document.getElementById("changed"), { trigger() {} })(data.value);
})();
