import type { Search } from './parse-search.ts'

/** The command of a terminal that does the same. Every value is one quoted word. */
export function cliCommand(words: readonly string[], flags: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined || value === null || value === false) return []
    if (value === true) return [`--${name}`]
    return [value].flat().flatMap(one => [`--${name}`, quote(String(one))])
  })
  return ['onceward', ...words.map(quote), ...given].join(' ')
}

function quote(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** The options of `onceward parked …` for a search. */
export function searchFlags({ filter, members }: Search): Readonly<Record<string, unknown>> {
  return {
    consumer: filter.consumer,
    state: filter.states,
    cause: filter.cause,
    class: filter.failureClass,
    code: filter.code,
    key: filter.key,
    'business-key': filter.businessKey,
    type: filter.type,
    message: filter.messageId,
    label: filter.label,
    assignee: filter.assignee,
    since: filter.since?.toISOString(),
    until: filter.until?.toISOString(),
    text: filter.payloadHasAll,
    member: members.map(({ path, value }) => `${path.join('.')}=${value}`),
    id: filter.ids,
  }
}
