// Exchanges the secret behind the # of the address for a session. The fragment is sent to nobody.
"use strict";
(async () => {
  const secret = location.hash.slice(1);
  if (!secret) return;
  const answer = await fetch("/session", {
    method: "POST",
    body: new URLSearchParams({ secret }),
    redirect: "manual",
    credentials: "same-origin",
  });
  if (answer.type === "opaqueredirect") {
    location.replace(location.pathname + location.search);
    return;
  }
  const words = document.createElement("p");
  words.className = "validity bad";
  words.setAttribute("role", "alert");
  words.textContent = answer.status === 429
    ? "Too many were wrong. Wait a minute."
    : "That address is of another start of plumb ui: open the one that it printed last.";
  document.querySelector("main").append(words);
})();
