import type { EffectContext } from '../../contract/declared-effect.ts'
import type { Moved } from './apply-facts.ts'
import type { ProjectionResult } from './declaration.ts'
import type { ProjectionTable } from './plan.ts'
import { namedParts } from './run-handlers.ts'

/** Reports every applied message for `after`, oldest version first. The answer of a repair is no message. */
export function reportMoved<M>(
  { table }: ProjectionTable<M>,
  moved: readonly Moved<M>[],
  report: NonNullable<EffectContext<M>['report']>,
): void {
  for (const { key, steps, covered = [] } of moved) {
    const parts = namedParts(table, key)
    const { version: now } = steps.at(-1)!.fact
    const repaired = covered.map(fact => ({ fact, codes: ['repaired' as const], from: steps[0]!.from }))
    for (const { fact, codes, from } of [...repaired, ...steps]) {
      const { item, version, deletes } = fact
      if (item === null) continue
      const result: ProjectionResult = {
        key: parts,
        from,
        version,
        deletes,
        newest: version === now,
        notes: codes,
      }
      report(item, key.name, result)
    }
  }
}
