// The document page: which section is in view, links copied, keys for the hits. Without this file
// the contents are links, each passage has an address, and the hits are links.
(() => {
  "use strict";
  const bar = document.querySelector(".reading-bar");
  const passages = [...document.querySelectorAll(".passage")];
  const entries = [...document.querySelectorAll(".contents [data-ordinal]")];

  // --- the title in the bar, once the headline is scrolled away ---
  const headline = document.querySelector(".text h1");
  if (bar && headline) {
    new IntersectionObserver(([seen]) => bar.classList.toggle("is-past", !seen.isIntersecting))
      .observe(headline);
  }

  // --- you are here: the last heading at or above the first passage in view ---
  const mark = (ordinal) => {
    let here = null;
    for (const entry of entries) if (Number(entry.dataset.ordinal) <= ordinal) here = entry;
    for (const entry of entries) {
      if (entry === here) entry.setAttribute("aria-current", "location");
      else entry.removeAttribute("aria-current");
    }
    const list = here?.closest("nav");
    if (!list || list.scrollHeight <= list.clientHeight) return;
    // Not scrollIntoView, which would move the page as well.
    const top = here.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + here.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 3;
    }
  };
  if (entries.length) {
    const inView = new Set();
    const observer = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) {
        if (isIntersecting) inView.add(target);
        else inView.delete(target);
      }
      const first = passages.find((passage) => inView.has(passage));
      if (first) mark(Number(first.id.replace("chunk-", "")));
    }, { rootMargin: "-90px 0px -55% 0px" });
    for (const passage of passages) observer.observe(passage);
  }
  const contents = document.querySelector("details.contents");
  contents?.addEventListener("click", (event) => {
    // On a small screen the chosen section should be seen.
    if (event.target.closest("a") && matchMedia("(max-width: 60rem)").matches) contents.open = false;
  });
  if (contents && matchMedia("(min-width: 60.01rem)").matches) contents.open = true;

  // --- a page that could not be drawn: its reason, or another attempt if the site was busy ---
  const MOST_TRIES = 10;
  const explain = async (picture) => {
    const answer = await fetch(picture.src);
    const tries = Number(picture.dataset.tries ?? 0);
    if ((answer.ok || answer.status === 503) && tries < MOST_TRIES) {
      picture.dataset.tries = tries + 1;
      const seconds = Number(answer.headers.get("Retry-After"));
      setTimeout(() => { picture.src = picture.getAttribute("src"); }, 1000 * seconds);
      return;
    }
    if (picture.classList.contains("place")) picture.hidden = true;
    if (picture.hidden || answer.status !== 422) return;
    const reason = document.createElement("p");
    reason.className = "notice";
    reason.textContent = await answer.text();
    picture.closest("a").replaceWith(reason);
  };
  const failed = (picture) => {
    if (!picture.closest?.(".sheet")) return;
    // A mark that is not there yet must not lie over the page as a broken picture.
    if (picture.classList.contains("place")) picture.classList.add("is-awaited");
    explain(picture).catch(() => {});
  };
  document.addEventListener("load", (event) => event.target.classList?.remove("is-awaited"), true);
  // Errors of pictures do not bubble; some have happened before this file was there.
  document.addEventListener("error", (event) => failed(event.target), true);
  for (const picture of document.querySelectorAll(".sheet img")) {
    if (picture.complete && !picture.naturalWidth && picture.currentSrc) failed(picture);
  }

  // --- a link to a passage is copied; where the browser forbids it, it is followed ---
  const status = document.createElement("p");
  status.className = "unseen";
  status.setAttribute("role", "status");
  document.body.append(status);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".permalink");
    if (!link || !navigator.clipboard || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    navigator.clipboard.writeText(link.href).then(
      () => {
        link.classList.add("is-copied");
        status.textContent = link.dataset.copied;
        setTimeout(() => {
          link.classList.remove("is-copied");
          status.textContent = "";
        }, 2000);
      },
      () => location.assign(link.href),
    );
  });

  // --- n and p go to the next and the previous hit ---
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const hit = { n: "next", p: "previous" }[event.key];
    document.querySelector(`[data-hit="${hit}"]`)?.click();
  });
})();
