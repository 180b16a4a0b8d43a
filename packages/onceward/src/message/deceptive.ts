/**
 * Control characters, line ends of every alphabet, and marks that turn the direction of text or cannot be
 * seen: all a reader or a terminal may be fooled with. The joiners of words and emoji are spelling.
 */
export const deceptive = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Text from outside on one line, with nothing in it that a terminal would act on. In JSON the value stays the
 * same.
 */
export function escaped(text: string): string {
  return text.replaceAll(deceptive, found =>
    found.replaceAll(/[\s\S]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}
