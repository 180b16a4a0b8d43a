/** A browser's part of the API: cookies, the token, and the origin. */
export class Client {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  #cookie = ''
  csrf = ''
  /** Called with every answer. */
  onAnswer: ((method: string, path: string, answer: Answer) => void) | null = null

  readonly #fetch: (request: Request) => Promise<Response>

  /** `send`: without a server between, so that the host can be any. */
  constructor(
    url: string,
    headers: Readonly<Record<string, string>> = {},
    send: (request: Request) => Promise<Response> = fetch,
  ) {
    this.#url = url.replace(/\/$/, '')
    this.#headers = headers
    this.#fetch = send
  }

  get cookie(): string {
    return this.#cookie
  }

  /** By the link of the terminal. */
  static async signIn(link: string): Promise<Client> {
    const { origin, pathname, hash } = new URL(link)
    const client = new Client(`${origin}${pathname}`)
    await client.post('sign-in', { token: hash.slice('#link='.length) })
    await client.start()
    return client
  }

  /** Reads the session with its token. */
  async start(): Promise<Answer> {
    const answer = await this.get('session')
    this.csrf = answer.body.csrf ?? ''
    return answer
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('GET', path, undefined, headers)
  }

  post(path: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('POST', path, body, headers)
  }

  async send(
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const request = new Request(`${this.#url}/api/${path}`, {
      method,
      redirect: 'manual',
      headers: {
        cookie: this.#cookie,
        origin: new URL(this.#url).origin,
        'content-type': 'application/json',
        'x-csrf-token': this.csrf,
        ...this.#headers,
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const response = await this.#fetch(request)
    for (const set of response.headers.getSetCookie()) this.#cookie = set.split(';')[0]!
    const text = await response.text()
    const answer = { status: response.status, headers: response.headers, text, body: jsonOf(text) }
    this.onAnswer?.(method, path, answer)
    return answer
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: shaped by the route
  readonly body: any
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
