import { connect } from 'node:net'

/** The first byte of a TLS record: an alert, or a handshake. */
const tlsBytes: readonly number[] = [0x15, 0x16]

/** Whether a port answers its protocol's greeting without TLS. The greeting contains no credentials. */
export function answersPlainly(
  { host, port }: { readonly host: string; readonly port: number },
  greeting: Buffer,
  timeoutMs: number,
): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port }, () => socket.write(greeting))
    const end = (answer: boolean) => {
      resolve(answer)
      socket.destroy()
    }
    socket.setTimeout(timeoutMs, () => end(false))
    socket.once('data', bytes => end(!tlsBytes.includes(bytes[0]!)))
    socket.once('error', () => end(false))
    socket.once('close', () => end(false))
  })
}
