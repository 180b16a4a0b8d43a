/** An event in the form of CloudEvents 1.0. Extensions are members beside the attributes. */
export interface CloudEvent<T = unknown> {
  readonly specversion: '1.0'
  readonly id: string
  readonly source: string
  readonly type: string
  readonly subject?: string
  readonly time?: string
  readonly datacontenttype?: string
  readonly dataschema?: string
  /** Undefined for an event without data. */
  readonly data?: T
  readonly [extension: string]: unknown
}

export type Attributes = Readonly<Record<string, string>>

const required = ['id', 'source', 'type'] as const
/** A name of the specification, without case and signs: every binding carries it. */
const attributeName = /^[a-z0-9]+$/
/** A URI reference: no space, no control character, none of the signs that URIs exclude. */
const reference = /^[^\s"<>\\^`{|}\p{Cc}]+$/u
const timestamp = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
const namesMax = 100

/** Attributes of an event that conforms. Throws a TypeError that names the attribute. */
export function checkedAttributes(given: Attributes): Attributes {
  const names = Object.keys(given)
  if (names.length > namesMax) throw new TypeError(`a CloudEvent with more than ${namesMax} attributes`)
  for (const name of names)
    if (!attributeName.test(name) || name === 'data')
      throw new TypeError(`"${name.slice(0, 100)}" is not a name of a CloudEvents attribute`)
  for (const [name, value] of Object.entries(given))
    if (!value.isWellFormed()) throw new TypeError(`${name} of the CloudEvent has half a character`)
  if (given.specversion !== '1.0')
    throw new TypeError(
      given.specversion === undefined
        ? 'not a CloudEvent: it has no specversion'
        : `CloudEvents ${given.specversion.slice(0, 20)} is not read, only 1.0`,
    )
  for (const name of required)
    if (given[name] === undefined || given[name] === '') throw new TypeError(`a CloudEvent without ${name}`)
  for (const name of ['source', 'dataschema'])
    if (given[name] !== undefined && !reference.test(given[name]))
      throw new TypeError(`${name} of the CloudEvent is not a URI reference`)
  if (given.time !== undefined && !timestamp.test(given.time))
    throw new TypeError('time of the CloudEvent is not a timestamp of RFC 3339')
  return given
}

/**
 * The identity of an event: producers must not repeat an id under one source. A source has no space, so the
 * first one separates both.
 */
export function cloudEventId({ source, id }: Pick<CloudEvent, 'source' | 'id'>): string {
  return `${source} ${id}`
}

/** The identities of an event, for `identity` of a contract. Add what else the contract needs. */
export const cloudEventIdentity = {
  id: (event: CloudEvent) => cloudEventId(event),
  type: (event: CloudEvent) => event.type,
  producer: (event: CloudEvent) => event.source,
} as const

/** True for JSON, and for what ends in `+json`. Absent means JSON, as the JSON format has it. */
export function isJsonType(contentType: string | undefined): boolean {
  if (contentType === undefined) return true
  const media = contentType.split(';')[0]!.trim().toLowerCase()
  return /^(application|text)\/json$|\+json$/.test(media)
}
