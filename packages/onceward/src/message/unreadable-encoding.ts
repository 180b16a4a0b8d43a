const prefix = 'unreadable: '

/**
 * The content encoding of bytes that a source could not split into messages, with the reason. No codec ever
 * decodes such bytes, neither now nor when an operator redrives the row: part of a batch must never count as
 * a message.
 */
export function unreadableEncoding(reason: string): string {
  return prefix + reason
}

/** Why bytes of this content encoding are unreadable; null if they can be decoded. */
export function unreadableReason(encoding: string | undefined): string | null {
  return encoding?.startsWith(prefix) ? encoding.slice(prefix.length) : null
}
