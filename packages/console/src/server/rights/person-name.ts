import type { Identity } from './rights.ts'

/** Every blank but single spaces: the database takes them for one space. */
const blanks = /(?! )[\s\u0085\u2800]| {2}/u

/**
 * Whether a name of an identity provider can be a person's. The database strips what follows "(via", and
 * ignores invisible characters and compatibility forms: a name with them could pass for another person.
 */
export function isPersonName(name: string): boolean {
  if (name.trim() === '' || name.length > 200 || name !== name.normalize('NFKC')) return false
  return !/[()\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(name) && !blanks.test(name)
}

/** For pages only: the database decides whether two names are one person. */
export function samePerson(actor: string, name: string): boolean {
  const plain = (text: string) =>
    text
      .replace(/ \(via .*$/, '')
      .trim()
      .toLowerCase()
  return plain(actor) === plain(name)
}

/** The person as the audit records them: name, issuer and subject. The database compares the name only. */
export function actorOf({ name, issuer, subject }: Identity): string {
  return issuer === 'link' ? `${name} (via link)` : `${name} (via ${issuer} ${subject})`
}
