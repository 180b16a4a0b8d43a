/**
 * Added to every port of the shared servers, so that two clones can have servers of their own on one machine:
 * `ONCEWARD_PORT_OFFSET`, a multiple of 10 up to 110. The servers' state is kept apart too.
 */
export const portOffset = readOffset(process.env.ONCEWARD_PORT_OFFSET)

function readOffset(given: string | undefined): number {
  if (given === undefined || given === '') return 0
  if (/^\d{1,3}$/.test(given) && Number(given) % 10 === 0 && Number(given) <= 110) return Number(given)
  throw new Error(`ONCEWARD_PORT_OFFSET is "${given}": use a multiple of 10 from 0 to 110.`)
}

/** The given name, distinct from that of the servers at other ports. */
export const atOffset = (name: string) => (portOffset === 0 ? name : `${name}-${portOffset}`)
