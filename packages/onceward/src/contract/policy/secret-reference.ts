/** A value that stands in the environment; what is written before it is no secret, as `Bearer ` is. */
export interface SecretReference {
  readonly env: string
  readonly prefix?: string
}

/** How a reference is written, for texts. */
export const envExample = `$\u007benv:NAME}`

const reference = /^(.*?)\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}$/s

/** `${env:NAME}`, where `prefixed` with a text before it. Null for anything else. */
export function secretReference(text: string, prefixed: boolean): SecretReference | null {
  const [, prefix = '', env] = reference.exec(text) ?? []
  if (env === undefined || prefix.includes('${') || (prefix !== '' && !prefixed)) return null
  return { env, ...(prefix !== '' && { prefix }) }
}

/** Whether a text tries to refer to something. */
export function refersSomewhere(text: string): boolean {
  return text.includes('${')
}
