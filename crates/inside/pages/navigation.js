// The links between the admin pages.

const PAGES = [
  ["/", "Route"],
  ["/tasks", "Tasks"],
  ["/profile", "Profile"],
  ["/calls", "Calls"],
  ["/glass", "One request"],
  ["/log", "Log"],
];

const navigation = document.getElementById("pages");
for (const [path, name] of PAGES) {
  const link = document.createElement("a");
  link.href = path;
  link.textContent = name;
  if (location.pathname === path) link.setAttribute("aria-current", "page");
  navigation.append(link);
}
