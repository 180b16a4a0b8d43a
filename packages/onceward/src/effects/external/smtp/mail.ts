/** The body of an e-mail effect, as JSON. */
export interface Mail {
  readonly to: string | readonly string[]
  readonly subject: string
  readonly text: string
  readonly html?: string
  readonly replyTo?: string
}

const address = /^[^\s@<>(),;:"[\]\\]+@[A-Za-z0-9.-]+$/
const fields = ['to', 'subject', 'text', 'html', 'replyTo']
const recipientsMax = 100

/**
 * Reads the stored bytes, or returns why they are not a valid mail. A line end in a header could add headers,
 * so it is refused.
 */
export function readMail(body: Uint8Array): Mail | { readonly problem: string } {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return { problem: 'it is not JSON' }
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return { problem: 'it is not an object' }
  const mail = value as Record<string, unknown>
  const unknown = Object.keys(mail).find(key => !fields.includes(key))
  if (unknown !== undefined) return { problem: `${unknown} is not a field of a mail` }
  const to = typeof mail.to === 'string' ? [mail.to] : mail.to
  if (!Array.isArray(to) || to.length === 0 || to.length > recipientsMax)
    return { problem: 'to must list 1 to 100 recipients' }
  if (!to.every(isAddress)) return { problem: 'to must be plain addresses, such as ada@shop.example' }
  if (mail.replyTo !== undefined && !isAddress(mail.replyTo))
    return { problem: 'replyTo must be a plain address' }
  if (typeof mail.subject !== 'string' || !isOneLine(mail.subject))
    return { problem: 'subject must be one line' }
  if (typeof mail.text !== 'string') return { problem: 'text is missing' }
  if (mail.html !== undefined && typeof mail.html !== 'string') return { problem: 'html must be text' }
  return mail as unknown as Mail
}

export function recipientsOf({ to }: Mail): readonly string[] {
  return typeof to === 'string' ? [to] : to
}

function isAddress(value: unknown): boolean {
  return (
    typeof value === 'string' && value.length <= 254 && address.test(value) && !/[^\x21-\x7e]/.test(value)
  )
}

function isOneLine(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  return !/[\u0000-\u001f\u007f]/.test(text) && text.isWellFormed()
}
