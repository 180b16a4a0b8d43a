import { connect } from 'node:tls'

/**
 * Whether a TLS handshake succeeds on this port. No data follows the handshake, so the certificate need not
 * be trusted.
 */
export function speaksTls(
  { host, port }: { readonly host: string; readonly port: number },
  timeoutMs: number,
): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port, rejectUnauthorized: false })
    const end = (answer: boolean) => {
      resolve(answer)
      socket.destroy()
    }
    socket.setTimeout(timeoutMs, () => end(false))
    socket.once('secureConnect', () => end(true))
    socket.once('error', error => end(/alert|certificate.required/i.test(`${error.message}`)))
    socket.once('close', () => end(false))
  })
}
