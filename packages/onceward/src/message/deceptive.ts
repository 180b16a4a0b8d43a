/**
 * Control characters, line ends of every alphabet, direction marks and invisible characters, which may
 * deceive a reader or a terminal. Joiners are excluded: words and emoji need them.
 */
export const deceptive = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Untrusted text on one line, without characters that a terminal interprets. In JSON the value stays the
 * same.
 */
export function escaped(text: string): string {
  return text.replaceAll(deceptive, found =>
    found.replaceAll(/[\s\S]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}
