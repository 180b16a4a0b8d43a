/** A value from the environment. The prefix, such as `Bearer `, is not secret. */
export interface SecretReference {
  readonly env: string
  readonly prefix?: string
}

/** An example of a reference, for texts. */
export const envExample = `$\u007benv:NAME}`

const reference = /^(.*?)\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}$/s

/** `${env:NAME}`; if `prefixed`, with an optional text before it. Null for anything else. */
export function secretReference(text: string, prefixed: boolean): SecretReference | null {
  const [, prefix = '', env] = reference.exec(text) ?? []
  if (env === undefined || prefix.includes('${') || (prefix !== '' && !prefixed)) return null
  return { env, ...(prefix !== '' && { prefix }) }
}

/** Whether a text attempts a reference. */
export function refersSomewhere(text: string): boolean {
  return text.includes('${')
}
