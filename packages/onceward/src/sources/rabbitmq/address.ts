/** The virtual host of an AMQP address. */
export function virtualHostOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1)) || '/'
}

/** Host, port and virtual host: what may be shown and compared. */
export function addressOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname}:${port || (protocol === 'amqps:' ? 5671 : 5672)}/${virtualHostOf(url)}`
}
