// Made-up records for looking at the page without the real server. Not a log parser: an
// upload here only decides how many of these records are shown.

/** A small seeded generator of numbers from 0 to 1 (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const PATHS = [
  "/",
  "/assets/app.css",
  "/assets/app.js",
  "/api/v1/items",
  "/login",
  "/search",
  "/images/hero.webp",
  "/about",
  "/feed.xml",
  "/robots.txt",
  "/cart",
  "/checkout",
  "/api/v1/users/me",
  "/favicon.ico",
  "/docs/getting-started",
  "/wp-login.php",
];
const AGENTS = [
  "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
  "Googlebot/2.1 (+http://www.google.com/bot.html)",
  "curl/8.5.0",
  "-",
];
const HOSTILE = [
  "<script>document.title='owned'</script>",
  "<img src=x onerror=\"document.title='owned'\">",
  "\u001b[31mred\u001b[0m and \u0007 bell",
  "two\r\nlines",
  "safe\u202egnp.exe",
  "zero\u200bwidth\ufeff and \u2066isolate\u2069",
  "Ẑ͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘",
  "שלום עולם",
  "x".repeat(2048),
  "",
  "\\x22escaped by the server\\x22",
  "constructor",
  "__proto__",
];

const SLOT_S = 300;

/** `count` records in order of time over `hours`, with nights and a burst of errors. */
export function records(count, { seed = 1, hours = 26, hostile = false } = {}) {
  const next = random(seed);
  const zipf = (size) => Math.min(size - 1, Math.floor(size ** next()) - 1);
  const from = Date.UTC(2024, 4, 12, 4, 0, 0) / 1000;
  const slots = Array.from({ length: (hours * 3600) / SLOT_S }, (_, at) =>
    weight(from + at * SLOT_S, at, next),
  );
  const scale = count / slots.reduce((sum, one) => sum + one.weight, 0);
  return slots.flatMap(({ time, weight: size, burst }) =>
    Array.from({ length: Math.round(size * scale) }, () => time + Math.floor(next() * SLOT_S))
      .sort((a, b) => a - b)
      .map((second) => record(next, zipf, second, burst, hostile)),
  );
}

/** Traffic of one slot: thin at night, uneven by day, thick in a burst. */
function weight(time, at, next) {
  const hour = ((time / 3600 + 2) % 24) + 0;
  const day = 0.25 + Math.max(0, Math.sin(((hour - 6) * Math.PI) / 17));
  const burst = at % 400 >= 170 && at % 400 < 182;
  return { time, burst, weight: day * (0.85 + 0.3 * next()) * (burst ? 2.6 : 1) };
}

function record(next, zipf, time, burst, hostile) {
  const dice = next();
  const attack = burst && next() < 0.6;
  const status = attack
    ? dice < 0.5
      ? "401"
      : dice < 0.9
        ? "503"
        : "500"
    : dice < 0.82
      ? "200"
      : dice < 0.85
        ? "206"
        : dice < 0.93
          ? "304"
          : dice < 0.95
            ? "301"
            : dice < 0.985
              ? "404"
              : dice < 0.995
                ? "403"
                : "502";
  const odd = () => HOSTILE[Math.floor(next() * HOSTILE.length)];
  const strange = hostile && next() < 0.5;
  const client = attack
    ? "203.0.113.77"
    : next() < 0.05
      ? `2001:db8:${zipf(900).toString(16)}::${zipf(90).toString(16)}`
      : `198.51.${zipf(hostile ? 255 : 60)}.${zipf(250)}`;
  return {
    time,
    client,
    status,
    status_class: `${status[0]}xx`,
    path: strange
      ? odd()
      : attack
        ? "/wp-login.php"
        : hostile
          ? `/item/${zipf(20000)}`
          : PATHS[zipf(PATHS.length)],
    method: attack || next() < 0.06 ? "POST" : next() < 0.02 ? "HEAD" : "GET",
    host: next() < 0.7 ? "www.example.org" : "shop.example.org",
    protocol: next() < 0.6 ? "HTTP/2.0" : "HTTP/1.1",
    referer: strange
      ? odd()
      : next() < 0.5
        ? "-"
        : `https://www.example.org${PATHS[zipf(PATHS.length)]}`,
    user_agent: strange ? odd() : attack ? "curl/8.5.0" : AGENTS[zipf(AGENTS.length)],
    user: next() < 0.98 ? "-" : "alice",
    bytes: Math.floor(200 + 40000 * next() ** 4),
    latency: 0.004 + 0.3 * next() ** 6 + (attack ? 0.8 * next() : 0),
  };
}
