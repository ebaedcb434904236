import type { HttpDoor, HttpDoorOptions } from './door.ts';
import type { HttpRequest, HttpResponse } from './http-call.ts';

/** The door, whose code is loaded with its first request: a server that has it open and unused pays next to nothing. */
export class LazyDoor {
  readonly #options: HttpDoorOptions;
  #loading: Promise<HttpDoor> | undefined;
  #door: HttpDoor | undefined;

  constructor(options: HttpDoorOptions) {
    this.#options = options;
  }

  /** Serves a request. Never throws. */
  handle(request: HttpRequest, response: HttpResponse): void {
    if (this.#door) {
      this.#door.handle(request, response);
      return;
    }
    this.load().then(
      (door) => door.handle(request, response),
      (error: unknown) => {
        this.#options.log.error({ err: error }, "the code for Kubernetes' clients cannot be loaded");
        response.destroy();
      },
    );
  }

  load(): Promise<HttpDoor> {
    this.#loading ??= import('./door.ts').then(({ HttpDoor: Door }) => {
      this.#door = new Door(this.#options);
      return this.#door;
    });
    return this.#loading;
  }
}
