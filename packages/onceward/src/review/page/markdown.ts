import { deceptive } from '../../message/deceptive.ts'

/** Text from a contract as one line of a table cell, with Markdown and HTML escaped. */
export function plain(text: string): string {
  return oneLine(text)
    .replaceAll(/[\\`*_[\]|~$]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}

/** A name as code. A run of back-ticks in it needs a longer one around it. */
export function code(text: string): string {
  const line = oneLine(text)
  const runs = [...line.matchAll(/`+/g)].map(([run]) => run.length)
  const fence = '`'.repeat(Math.max(0, ...runs) + 1)
  const padded = runs.length > 0 || line.trim() === '' ? ` ${line} ` : line
  return `${fence}${padded.replaceAll('|', '\\|')}${fence}`
}

function oneLine(text: string): string {
  return text.toWellFormed().replaceAll(/\s+/g, ' ').replaceAll(deceptive, '?').trim()
}
