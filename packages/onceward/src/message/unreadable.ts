const prefix = 'unreadable: '

/**
 * The content encoding of bytes that a source could not take apart, with the reason. No codec is shown such
 * bytes, neither now nor when a row that keeps them is let go later: a part of a batch must never pass for a
 * message.
 */
export function unreadableEncoding(reason: string): string {
  return prefix + reason
}

/** Why bytes of this content encoding cannot be read; null where they can be tried. */
export function unreadableReason(encoding: string | undefined): string | null {
  return encoding?.startsWith(prefix) ? encoding.slice(prefix.length) : null
}
