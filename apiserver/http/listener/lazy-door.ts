import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpDoor, HttpDoorOptions } from '../door.ts';
import type { HttpRequest, HttpResponse } from '../http-call.ts';

/** The door, whose code is loaded with its first request: a server that has it open and unused pays next to nothing. */
export class LazyDoor {
  readonly #options: HttpDoorOptions;
  #loading: Promise<HttpDoor> | undefined;
  #door: HttpDoor | undefined;
  /** Where it listens, with the real ports: the listen address, then the advertised one; none while it is off. */
  addresses: readonly string[] = [];

  constructor(options: HttpDoorOptions) {
    this.#options = options;
  }

  /** Serves a request. Never throws. */
  handle(request: HttpRequest, response: HttpResponse): void {
    this.#with(response, (door) => door.handle(request, response));
  }

  /** Serves a request that wants another protocol on its connection. Never throws. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    this.#with(socket, (door) => door.upgrade(request, socket, head));
  }

  #with(answer: { destroy(): unknown }, serve: (door: HttpDoor) => void): void {
    if (this.#door) {
      serve(this.#door);
      return;
    }
    this.load().then(serve, (error: unknown) => {
      this.#options.log.error({ err: error }, "the code for Kubernetes' clients cannot be loaded");
      answer.destroy();
    });
  }

  load(): Promise<HttpDoor> {
    this.#loading ??= import('../door.ts').then(({ HttpDoor: Door }) => {
      this.#door = new Door(this.#options);
      return this.#door;
    });
    return this.#loading;
  }
}
