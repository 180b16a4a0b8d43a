import { errorText, OncewardError } from '../errors.ts'

/** The optional packages that codecs use. Each is loaded with the first message that needs it. */
export type Peer = 'avsc' | '@bufbuild/protobuf' | '@bufbuild/protobuf/wkt' | 'ajv'

export async function loadPeer<T>(peer: Peer, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    const name = peer.replace('/wkt', '')
    throw new OncewardError(
      'configuration',
      `The package ${name} is needed and cannot be loaded (${errorText(error, 200)}). Install it beside onceward: npm install ${name}.`,
      { cause: error },
    )
  }
}
