/**
 * Whether a name of an identity provider can be a person's. The database strips what follows "(via", and
 * ignores invisible characters: a name with them could pass for another person.
 */
export function isPersonName(name: string): boolean {
  return name.trim() !== '' && name.length <= 200 && !/[()\p{Cc}\p{Cf}]/u.test(name)
}
