// Synthetic records, to look at the page without the real server. Nothing is parsed: an upload
// only decides how many of these records are shown.

/**
 * @typedef {object} LogRecord
 * @property {import("../src/generated/RecordKind").RecordKind} kind
 * @property {number} time Seconds since 1970.
 * @property {string} client
 * @property {string} status
 * @property {string} status_class
 * @property {string} path
 * @property {string} method
 * @property {string} host
 * @property {string} protocol
 * @property {string} referer
 * @property {string} user_agent
 * @property {string} user
 * @property {number} bytes Bytes sent.
 * @property {number} latency Seconds.
 * @property {string} [level] Of an error-log line, as the next two.
 * @property {string} [message]
 * @property {string} [module]
 * @property {string} [action] Of a firewall event, as the next.
 * @property {string} [dst-port]
 */

/**
 * Returns a seeded generator of numbers from 0 to 1 (mulberry32).
 *
 * @param {number} seed
 */
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

const MESSAGES = [
  "AH01630: client denied by server configuration: /var/www/html/.git",
  "AH00128: File does not exist: /var/www/html/wp-login.php",
  "AH02032: Hostname provided via SNI and hostname provided via HTTP have no compatible SSL setup",
  'PHP Warning:  Undefined array key "page" in /var/www/html/index.php on line 12',
  "AH00161: server reached MaxRequestWorkers setting, consider raising the setting",
];
const MODULES = ["authz_core", "core", "ssl", "php", "mpm_event"];
const LEVELS = ["error", "warn", "notice", "info", "crit"];
const ACTIONS = ["BLOCK", "ALLOW", "LIMIT"];
const PORTS = ["22", "23", "443", "3389", "8080", "5060"];

const SLOT_S = 300;

/**
 * Returns about `count` records in order of time over `hours`, with quiet nights and bursts of
 * errors.
 *
 * @param {number} count
 * @param {{ seed?: number, hours?: number, hostile?: boolean }} options
 * @returns {LogRecord[]}
 */
export function records(count, { seed = 1, hours = 26, hostile = false } = {}) {
  const make = new Generator(random(seed), hostile);
  const from = Date.UTC(2024, 4, 12, 4, 0, 0) / 1000;
  const slots = Array.from({ length: (hours * 3600) / SLOT_S }, (_, at) =>
    make.slot(from + at * SLOT_S, at),
  );
  const scale = count / slots.reduce((sum, slot) => sum + slot.weight, 0);
  return slots.flatMap(({ time, weight, isBurst }) =>
    Array.from({ length: Math.round(weight * scale) }, () => time + make.below(SLOT_S))
      .sort((a, b) => a - b)
      .map((second) => make.record(second, isBurst)),
  );
}

/**
 * Returns the same records with error-log lines and firewall events among them: one of each for
 * every seven requests.
 *
 * @param {LogRecord[]} requests
 * @returns {LogRecord[]}
 */
export function mixed(requests) {
  const make = new Generator(random(2), false);
  return requests.flatMap((request, at) => {
    if (at % 7 !== 0) return [request];
    return [request, make.errorLogLine(request), make.firewallEvent(request)];
  });
}

/**
 * Cumulative shares of the status codes.
 *
 * @type {[number, string][]}
 */
const NORMAL_STATUS = [
  [0.82, "200"],
  [0.85, "206"],
  [0.93, "304"],
  [0.95, "301"],
  [0.985, "404"],
  [0.995, "403"],
  [1, "502"],
];
/** @type {[number, string][]} */
const ATTACK_STATUS = [
  [0.5, "401"],
  [0.9, "503"],
  [1, "500"],
];

class Generator {
  /**
   * @param {() => number} next Returns a number from 0 to 1.
   * @param {boolean} hostile Whether half of the values try to break the page.
   */
  constructor(next, hostile) {
    this.next = next;
    this.hostile = hostile;
  }

  /** @param {number} limit */
  below(limit) {
    return Math.floor(this.next() * limit);
  }

  /**
   * A rank below `size`; low ranks are the most frequent.
   *
   * @param {number} size
   */
  rank(size) {
    return Math.min(size - 1, Math.floor(size ** this.next()) - 1);
  }

  /** @param {string[]} values */
  frequent(values) {
    return values[this.rank(values.length)] ?? "";
  }

  /**
   * The traffic of one slot: thin at night, uneven by day, dense in a burst.
   *
   * @param {number} time
   * @param {number} at
   */
  slot(time, at) {
    const hour = (time / 3600 + 2) % 24;
    const day = 0.25 + Math.max(0, Math.sin(((hour - 6) * Math.PI) / 17));
    const isBurst = at % 400 >= 170 && at % 400 < 182;
    return { time, isBurst, weight: day * (0.85 + 0.3 * this.next()) * (isBurst ? 2.6 : 1) };
  }

  /**
   * @param {number} time
   * @param {boolean} isBurst
   * @returns {LogRecord}
   */
  record(time, isBurst) {
    const isAttack = isBurst && this.next() < 0.6;
    const record = isAttack ? this.attack(time) : this.visit(time);
    if (!this.hostile || this.next() < 0.5) return record;
    const odd = () => HOSTILE[this.below(HOSTILE.length)] ?? "";
    return { ...record, path: odd(), referer: odd(), user_agent: odd() };
  }

  /**
   * @param {number} time
   * @returns {LogRecord}
   */
  visit(time) {
    const status = this.status(NORMAL_STATUS);
    return {
      kind: "request",
      time,
      client: this.client(),
      status,
      status_class: `${status[0]}xx`,
      path: this.hostile ? `/item/${this.rank(20000)}` : this.frequent(PATHS),
      method: this.method(),
      host: this.next() < 0.7 ? "www.example.org" : "shop.example.org",
      protocol: this.next() < 0.6 ? "HTTP/2.0" : "HTTP/1.1",
      referer: this.next() < 0.5 ? "-" : `https://www.example.org${this.frequent(PATHS)}`,
      user_agent: this.frequent(AGENTS),
      user: this.next() < 0.98 ? "-" : "alice",
      bytes: Math.floor(200 + 40000 * this.next() ** 4),
      latency: 0.004 + 0.3 * this.next() ** 6,
    };
  }

  /**
   * @param {number} time
   * @returns {LogRecord}
   */
  attack(time) {
    const status = this.status(ATTACK_STATUS);
    return {
      ...this.visit(time),
      client: "203.0.113.77",
      status,
      status_class: `${status[0]}xx`,
      path: "/wp-login.php",
      method: "POST",
      user_agent: "curl/8.5.0",
      latency: 0.004 + 0.8 * this.next(),
    };
  }

  /**
   * A line of the error log at the time of a request.
   *
   * @param {LogRecord} request
   * @returns {LogRecord}
   */
  errorLogLine(request) {
    const at = this.rank(MESSAGES.length);
    return {
      ...without(request),
      kind: "error_log_line",
      level: this.frequent(LEVELS),
      message: MESSAGES[at] ?? "",
      module: MODULES[at] ?? "",
    };
  }

  /**
   * A packet at the time of a request.
   *
   * @param {LogRecord} request
   * @returns {LogRecord}
   */
  firewallEvent(request) {
    return {
      ...without(request),
      kind: "firewall_event",
      client: this.client(),
      action: this.frequent(ACTIONS),
      "dst-port": this.frequent(PORTS),
    };
  }

  /** @param {[number, string][]} shares */
  status(shares) {
    const dice = this.next();
    return shares.find(([share]) => dice < share)?.[1] ?? "200";
  }

  client() {
    if (this.next() < 0.05) {
      return `2001:db8:${this.rank(900).toString(16)}::${this.rank(90).toString(16)}`;
    }
    return `198.51.${this.rank(this.hostile ? 255 : 60)}.${this.rank(250)}`;
  }

  method() {
    if (this.next() < 0.06) return "POST";
    return this.next() < 0.02 ? "HEAD" : "GET";
  }
}

/**
 * The record without the fields that only requests have.
 *
 * @param {LogRecord} request
 * @returns {LogRecord}
 */
function without(request) {
  const empty = { path: "", method: "", host: "", protocol: "", referer: "", user_agent: "" };
  return { ...request, ...empty, status: "", status_class: "", user: "", bytes: 0, latency: 0 };
}
