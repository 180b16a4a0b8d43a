/** Who receives a mail, and its subject. */
export interface MailHead {
  readonly to: readonly string[]
  readonly subject: string
}

/** Of the stored body of an e-mail effect; null if it is none, which the dispatcher reports. */
export function mailHead(body: Uint8Array): MailHead | null {
  try {
    const { to, subject } = JSON.parse(new TextDecoder().decode(body)) as { to: unknown; subject: unknown }
    return { to: [to].flat().map(String), subject: String(subject) }
  } catch {
    return null
  }
}
