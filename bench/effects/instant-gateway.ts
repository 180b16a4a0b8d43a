import { type AddressInfo, createServer } from 'node:net'

/**
 * Answers every HTTP request at once and does nothing else, in a process of its own: what is measured is who
 * calls it.
 */
const answer = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
const headEnd = '\r\n\r\n'

const server = createServer({ noDelay: true }, socket => {
  let text = ''
  socket.on('error', () => {})
  socket.setEncoding('latin1').on('data', chunk => {
    text += chunk
    for (;;) {
      const head = text.indexOf(headEnd)
      if (head < 0) return
      const length = /content-length: (\d+)/i.exec(text.slice(0, head))
      const end = head + headEnd.length + Number(length?.[1] ?? 0)
      if (text.length < end) return
      text = text.slice(end)
      socket.write(answer)
    }
  })
})
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
