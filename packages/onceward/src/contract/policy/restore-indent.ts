import { consumerKeys, templateKey, topicKeys } from './template-keys.ts'

/**
 * The template is often copied from a page that lost its indentation. Its keys say at which depth each line
 * is, so the text gets it back. Any other text is returned as it is; lines stay where they are.
 */
export function restoreIndent(text: string): string {
  const lines = text.split('\n')
  const written = lines.filter(line => line.trim() !== '')
  if (written[0]?.trimEnd() !== `${templateKey}:` || written.some(line => /^\s/.test(line))) return text
  let part = ''
  let section = ''
  return lines
    .map(line => {
      const [, key = '', value = ''] = /^([^:#]+):\s*(.*)$/.exec(line) ?? []
      if (key === '' || key === templateKey) return line
      if (value === '' && (key === 'topics' || key === 'consumers')) {
        part = key
        return indented(1, line)
      }
      if (part === 'topics') return indented(Object.hasOwn(topicKeys, key) ? 3 : 2, line)
      if (value !== '' && consumerKeys[section] !== undefined) return indented(4, line)
      if (!Object.hasOwn(consumerKeys, key)) return indented(2, line)
      section = key
      return indented(3, line)
    })
    .join('\n')
}

function indented(depth: number, line: string): string {
  return `${'  '.repeat(depth)}${line}`
}
