// Before the first paint: the theme that was chosen; without one the system's.
document.documentElement.dataset.theme = (localStorage.getItem("ibid.theme") ?? "").replaceAll('"', "");
