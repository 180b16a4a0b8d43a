import { OncewardError } from '../errors.ts'
import { loadContract } from '../runtime/load-consumer.ts'
import type { Declared } from '../telemetry/alerts/alert-rules.ts'

/** The consumers and transforms of these files, in the order given. */
export async function loadDeclared(files: readonly string[]): Promise<Declared[]> {
  const declared: Declared[] = []
  for (const file of files)
    declared.push({ file, consumer: (await loadContract(file)) as Declared['consumer'] })
  return declared
}

/** `env=production` and the like. */
export function labelsOf(labels: readonly string[] = []): readonly (readonly [string, string])[] {
  return labels.map(text => {
    const at = text.indexOf('=')
    if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)]
    throw new OncewardError('usage', '--label must be written name=value. Nothing was written.')
  })
}
