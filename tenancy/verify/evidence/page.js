"use strict";
// The filters. Without this script the page still shows everything.
(() => {
  const form = document.querySelector("form");
  const checks = [...document.querySelectorAll("details.check")];
  const shown = document.querySelector("output");
  const keys = ["verdict", "scheduler", "kind", "team", "flavor"];
  let texts; // of each check, in small letters; made when first searched

  const apply = () => {
    const wanted = keys.filter((key) => form.elements[key].value).map((key) => [key, form.elements[key].value]);
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) texts ??= checks.map((check) => check.textContent.toLowerCase());
    let count = 0;
    checks.forEach((check, number) => {
      const fits = wanted.every(([key, value]) => check.dataset[key] === value)
        && words.every((word) => texts[number].includes(word));
      check.hidden = !fits;
      count += fits;
    });
    shown.textContent = `${count} of ${checks.length} promises`;
  };

  const open = (state) => checks.forEach((check) => { if (!check.hidden) check.open = state; });

  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  document.querySelector("#open").addEventListener("click", () => open(true));
  document.querySelector("#close").addEventListener("click", () => open(false));
  document.querySelectorAll("td button").forEach((button) => button.addEventListener("click", () => {
    form.reset();
    for (const key of ["scheduler", "kind", "team"]) form.elements[key].value = button.dataset[key];
    apply();
    form.scrollIntoView();
    form.elements.verdict.focus({preventScroll: true});
  }));
  apply();
})();
