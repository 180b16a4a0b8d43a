import type { Absence, Explanation, Story, TimelineEntry } from '../evidence/explanation.ts'
import { oneLine, safe } from './output.ts'
import { table } from './table.ts'

const textMax = 300

/** An explanation as text: the answer first, then its evidence. */
export function explanationText({ storedAs, stories, absences, limits }: Explanation): string {
  const blocks = [
    ...(storedAs === null ? [] : [`This id is longer than 200 bytes and kept as ${storedAs}.`]),
    ...(stories.length === 0 && absences.length === 0 ? ['No record of it was found.'] : []),
    ...stories.map(storyText),
    ...absences.map(absenceText),
    ...(limits.length === 0 ? [] : [limits.map(limit => `note: ${safe(limit)}`).join('\n')]),
  ]
  return blocks.join('\n\n')
}

function storyText({ summary, answers, timeline }: Story): string {
  return [
    oneLine(summary),
    '',
    table(
      ['asked', 'answer', 'from'],
      answers.map(({ asked, answer, from }) => [asked, answer?.slice(0, textMax) ?? '–', from]),
    ),
    '',
    table(['at', 'what', 'by', 'text'], timeline.map(lineOf)),
    ...timeline.flatMap(payloadLines),
  ].join('\n')
}

function lineOf({ at, what, by, text }: TimelineEntry): string[] {
  return [at?.toISOString() ?? 'now', what, by ?? '', text.slice(0, textMax)]
}

function payloadLines({ what, facts }: TimelineEntry): string[] {
  const body = facts.body as { as: string; content: string; bytes: number; whole: boolean } | undefined
  if (body === undefined) return []
  return [
    '',
    `body of "${oneLine(what)}", ${body.bytes} bytes${body.as === 'hex' ? ' in hexadecimal' : ''}${body.whole ? '' : ', cut'}`,
    safe(body.content),
  ]
}

function absenceText({ consumer, generation, text }: Absence): string {
  return `${oneLine(consumer)}, generation ${generation}: ${safe(text)}`
}
