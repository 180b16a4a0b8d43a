import { loadPeer } from '../load-peer.ts'

export const loadProtobuf = () => loadPeer('@bufbuild/protobuf', () => import('@bufbuild/protobuf'))
