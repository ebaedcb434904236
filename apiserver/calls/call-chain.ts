import type { AnswerRoom } from '../limits/answer-room.ts';
import type { CallShape, LimitKeeper } from '../limits/client-limits.ts';
import { requireAuthorized } from './fail-closed.ts';
import type { ContextOptions, OpenCall } from './open-call.ts';
import type { TransportCall } from './transport-call.ts';

export interface CallChainOptions extends ContextOptions {
  readonly limits: LimitKeeper;
  readonly answers: AnswerRoom;
}

/** The steps of a call that are the same over every transport, in the order of docs/design/apiserver.md, "A call". */
export class CallChain {
  readonly #options: CallChainOptions;

  constructor(options: CallChainOptions) {
    this.#options = options;
  }

  /** Steps 1 to 3 of a unary call. */
  beginUnary(context: OpenCall): void {
    context.identify();
    this.enter(context, 'unary');
    this.#options.answers.assert(context.flow, 0);
  }

  /** Steps 4 and 5: it has had no effect when they throw. */
  prepare<T>(context: OpenCall, prepare: () => T): T {
    const prepared = prepare();
    requireAuthorized(context);
    return prepared;
  }

  enter(context: OpenCall, shape: CallShape): void {
    this.#options.limits.enter(context.flow, shape);
    context.entered = true;
  }

  /** Step 8, also of a call that never entered. */
  leave(context: OpenCall, shape: CallShape): void {
    if (context.entered) this.#options.limits.leave(context.flow, shape);
    context.release();
  }

  /**
   * Counts an answer until its client has it. Throws RESOURCE_EXHAUSTED for a large one that is only read and has no
   * room.
   */
  holdAnswer(call: TransportCall, { flow }: OpenCall, bytes: number, mayRefuse: boolean): void {
    const { answers } = this.#options;
    if (!answers.isCounted(bytes)) {
      call.whenClosed(answers.holdSmall(flow));
      return;
    }
    if (mayRefuse) answers.assert(flow, bytes);
    call.whenTaken(answers.limits.takeMs, answers.hold(flow, bytes));
  }
}
