import { OncewardError } from '../../errors.ts'
import type { Loss, Position } from '../../ports/source.ts'
import { confirmGone } from './confirm-extent.ts'
import { queryNodes } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'
import { code, StreamRefusal } from './wire/frame.ts'

type Missing =
  | { readonly error: unknown; readonly loss?: undefined }
  | { readonly loss: Loss; readonly error?: undefined }

/** A missing stream is a mistake in the contract, unless this consumer has read it before. */
export async function missingStream(
  connection: StreamConnection,
  partition: string,
  stored: Position | null,
  cause: unknown,
): Promise<Missing> {
  if (stored === null) {
    const error = new OncewardError(
      'configuration',
      `Stream ${partition} does not exist. Nothing was consumed. Create it, or correct the name.`,
      { cause, details: { missing: true } },
    )
    return { error }
  }
  // A broker that has just started may not know the stream yet.
  const isGone = await confirmGone(
    () => isUnknown(connection, partition),
    unknown => unknown,
  )
  if (!isGone) return { error: cause }
  return {
    loss: { partition, from: stored, to: null, records: null, reason: 'the stream was deleted' },
  }
}

async function isUnknown(connection: StreamConnection, stream: string): Promise<boolean> {
  return queryNodes(connection, stream).then(
    () => false,
    error => {
      if (isMissing(error)) return true
      throw error
    },
  )
}

export function isMissing(error: unknown): boolean {
  return error instanceof StreamRefusal && error.code === code.streamDoesNotExist
}
