/** Frames from a client on their way to an agent; its sender is told when to stop and when to go on. */
export class InputQueue {
  readonly #frames: Buffer[] = [];
  readonly #flow: { pause(): void; resume(): void };
  #wake = (): void => {};
  #hasEnded = false;

  constructor(flow: { pause(): void; resume(): void }) {
    this.#flow = flow;
  }

  push(frame: Buffer): void {
    if (this.#hasEnded) return;
    this.#frames.push(frame);
    this.#flow.pause();
    this.#wake();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  async *frames(): AsyncIterableIterator<Buffer> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame) yield frame;
      else if (this.#hasEnded) return;
      else {
        this.#flow.resume();
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
