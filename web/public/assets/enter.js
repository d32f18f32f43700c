// Runs on the page that a link with the access token opens. Goes on to the address without the token, and takes
// along what follows `#`, which browsers send to no server.
location.replace(document.currentScript.dataset.address + location.hash);
