import type { Checkpoints, Loss, OpenLoss, Ownership, Position } from '../../ports/source.ts'

/**
 * True where reading on behind the loss would go back in the same life of the log, as where the log seemed to
 * end before the position.
 */
export function goesBack({ from, to }: Pick<Loss, 'from' | 'to'>): boolean {
  return to !== null && to.incarnation === from.incarnation && Number(to.next) < Number(from.next)
}

export function isDeclaredAt(openLoss: OpenLoss | undefined, position: Position): openLoss is OpenLoss {
  return openLoss?.from.incarnation === position.incarnation && openLoss.from.next === position.next
}

/**
 * A log that ends before the position grows while its loss waits for a person, and what it has grown by was
 * never read: declared again, the loss keeps the earlier place to go on from.
 */
export function declaredAgain(loss: Loss, openLoss: OpenLoss | undefined): Loss {
  if (!isDeclaredAt(openLoss, loss.from) || !goesBack(openLoss) || !goesBack(loss)) return loss
  return Number(openLoss.to!.next) < Number(loss.to!.next) ? { ...loss, to: openLoss.to } : loss
}

/**
 * Of a log that did not reach the position when its loss was declared, and has records before the position
 * that are younger than that.
 */
export function stillLost(partition: string, { from, to }: OpenLoss): Loss {
  const reason = `the log ended before ${from.next} when this loss was declared, and has grown past it since: what it holds from ${to?.next} on may never have been read`
  return { partition, from, to, records: null, reason }
}

/**
 * Called once a log is known to have everything from `position` on: a loss that was declared right there was
 * none. A log that seemed to end before the position may have lost its end and grown past it since, so that
 * loss is withdrawn only where the caller has ruled this out.
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
