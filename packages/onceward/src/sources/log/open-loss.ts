import type { Checkpoints, OpenLoss, Ownership, Position } from '../../contracts/source.ts'

/** True where reading on behind the loss would go back in the same life of the log, as where the log seemed to end before the position. */
export function goesBack({ from, to }: OpenLoss): boolean {
  return to !== null && to.incarnation === from.incarnation && Number(to.next) < Number(from.next)
}

export function isDeclaredAt(openLoss: OpenLoss | undefined, position: Position): openLoss is OpenLoss {
  return openLoss?.from.incarnation === position.incarnation && openLoss.from.next === position.next
}

/**
 * Called once a log is known to have everything from `position` on: a loss that was declared right there was none. A log that seemed to end
 * before the position may have lost its end and grown past it since, so that loss is withdrawn only where the caller has ruled this out.
 */
export async function withdrawLossAt(
  checkpoints: Checkpoints,
  { partition, epoch, openLoss }: Pick<Ownership, 'partition' | 'epoch' | 'openLoss'>,
  position: Position,
  { isSameLog }: { readonly isSameLog: boolean },
): Promise<void> {
  if (!isDeclaredAt(openLoss, position) || (goesBack(openLoss) && !isSameLog)) return
  const reason = `the log has its records from ${position.next} on after all: reading goes on there`
  await checkpoints.withdrawLoss(partition, epoch, position, reason)
}
