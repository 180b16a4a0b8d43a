import { createHash } from 'node:crypto'
import { type Mail, recipientsOf } from './mail.ts'

export interface MailFrame {
  readonly from: string
  readonly messageIdDomain: string
  /** Stable for the effect: target and key. */
  readonly identity: string
  /** When the intent was recorded, not when it is sent. */
  readonly createdAt: Date
}

/** The same bytes for the same effect, whenever and by whomever it is sent: Message-ID, date and boundary follow from the intent. */
export function renderMail(mail: Mail, frame: MailFrame): Buffer {
  const name = createHash('sha256').update(frame.identity).digest('hex').slice(0, 40)
  const head = [
    `Date: ${frame.createdAt.toUTCString().replace('GMT', '+0000')}`,
    `From: ${frame.from}`,
    `To: ${recipientsOf(mail).join(',\r\n ')}`,
    ...(mail.replyTo === undefined ? [] : [`Reply-To: ${mail.replyTo}`]),
    `Subject: ${encodedWords(mail.subject)}`,
    `Message-ID: <${name}@${frame.messageIdDomain}>`,
    'MIME-Version: 1.0',
  ]
  const boundary = `=_${name}`
  const lines =
    mail.html === undefined
      ? [...head, ...part('plain', mail.text)]
      : [
          ...head,
          `Content-Type: multipart/alternative; boundary="${boundary}"`,
          '',
          `--${boundary}`,
          ...part('plain', mail.text),
          `--${boundary}`,
          ...part('html', mail.html),
          `--${boundary}--`,
        ]
  return Buffer.from(`${lines.join('\r\n')}\r\n`)
}

function part(subtype: string, text: string): readonly string[] {
  const encoded = Buffer.from(text.replaceAll(/\r?\n/g, '\r\n')).toString('base64')
  return [
    `Content-Type: text/${subtype}; charset=utf-8`,
    'Content-Transfer-Encoding: base64',
    '',
    ...(encoded.match(/.{1,76}/g) ?? ['']),
  ]
}

/** Pure ASCII goes as it is; the rest in words of at most 75 characters, none of which cuts a letter in two (RFC 2047). */
function encodedWords(text: string): string {
  if (/^[\x20-\x7e]{0,900}$/.test(text) && !text.includes('=?')) return text
  const words: string[] = []
  let word = ''
  for (const letter of text) {
    if (Buffer.byteLength(word + letter) > 42) {
      words.push(word)
      word = ''
    }
    word += letter
  }
  words.push(word)
  return words.map(one => `=?utf-8?B?${Buffer.from(one).toString('base64')}?=`).join('\r\n ')
}
