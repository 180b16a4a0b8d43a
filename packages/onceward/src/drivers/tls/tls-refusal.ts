interface Spoken {
  readonly code?: unknown
  readonly message?: unknown
  readonly reason?: unknown
}

const untrusted =
  /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_CA|CERT_UNTRUSTED|CERT_REJECTED|CERT_SIGNATURE)/
const otherTls = /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|HOSTNAME_MISMATCH|CRL_|ERROR_IN_CERT)/

/**
 * Describes a TLS failure that a retry cannot fix; null for every other error. A reset is not included,
 * because a restarting server also causes one.
 */
export function tlsRefusal(error: unknown): string | null {
  const { code, message } = Object(error) as Spoken
  if (typeof code !== 'string') return null
  const text = typeof message === 'string' ? message : ''
  if (code === 'CERT_HAS_EXPIRED')
    return `the server's certificate has expired (${code}). Renew it on the server`
  if (code === 'CERT_NOT_YET_VALID')
    return `the server's certificate is not valid yet (${code}). Check both clocks`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH')
    return `the server's certificate does not cover the host name in the address (${code}). Use a name of the certificate in the address, or set the TLS server name`
  if (untrusted.test(code))
    return `the server's certificate is not signed by a trusted authority (${code}). Set the authority (ca)`
  if (isPlainText(code, text))
    return `this port does not speak TLS (${code}). Use the port of the TLS listener, or an address without TLS`
  if (/^ERR_SSL_.*ALERT/.test(code) || (/^(EPROTO|ERR_SSL_)/.test(code) && /\balert\b/i.test(text)))
    return `the server rejected the TLS handshake (${code}): it may require a client certificate (cert and key) or another TLS version`
  return otherTls.test(code) ? `TLS failed (${code})` : null
}

function isPlainText(code: string, text: string): boolean {
  return (
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|UNKNOWN_PROTOCOL/.test(code) ||
    (code === 'EPROTO' && /wrong version number|packet length too long/i.test(text))
  )
}
