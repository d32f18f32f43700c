/** The known formats as the page lists them: names of `weir formats`, and whose logs they are. */
export const FORMAT_NOTES: [string[], string][] = [
  [["COMBINED"], "nginx and Apache by default"],
  [["COMMON"], "the same without referer and agent"],
  [["VCOMBINED", "VCOMMON"], "with the virtual host in front"],
  [["MAIN"], "nginx.org packages"],
  [["CADDY", "TRAEFIK", "TRAEFIKCLF"], "Caddy and Traefik"],
  [["JSON"], "one object a line, the usual names"],
  [["W3C"], "IIS and others with #Fields"],
  [["HAPROXY", "ENVOY", "SQUID", "UWSGI"], "proxies and uWSGI"],
  [["AWSALB", "AWSELB", "AWSS3", "AWSWAF", "CLOUDFRONT"], "Amazon"],
  [["CLOUDFLARE", "CLOUDSTORAGE"], "Cloudflare and Google"],
  [["NGINXERROR", "APACHEERROR"], "error logs"],
  [["FIREWALL"], "UFW, iptables, nftables"],
  [["SYSLOG", "DOCKER", "CRI"], "around the lines of any of them"],
];
