import { randomUUID } from 'node:crypto';
import { ApiError } from '../../../api/errors/index.ts';
import type { WebhookConversion } from '../../../api/generated/types.ts';
import type { ApiObject } from '../../../api/kinds/kind.ts';
import { WebhookFailure } from '../../admission/webhooks/review.ts';
import { WebhookClient } from '../../admission/webhooks/webhook-client.ts';
import type { TargetOf } from '../../admission/webhooks/webhook-table.ts';
import type { ConversionFailureType, ConversionMeter } from './conversion-metrics.ts';
import { type Convertible, type Desired, readReview, reviewText, reviewVersion, UnusableReview } from './conversion-review.ts';

/** Kubernetes' bound of a call. */
const TIMEOUT_MS = 30_000;
/** An object has at most 1.5 MiB as it is stored, and JSON may escape much of it. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Makes objects those of another version. */
export interface Converter {
  /** In order. Throws INTERNAL in Kubernetes' words for a webhook that cannot be asked or answers nonsense. */
  convert(objects: readonly Convertible[], desired: Desired): Promise<readonly ApiObject[]>;
}

/** How a conversion webhook is reached, and what measures it. */
export interface ConversionDeps {
  readonly targetOf: TargetOf;
  readonly meter: ConversionMeter;
  /** The name of the definition. */
  readonly definition: string;
}

/** The conversion webhook of one definition. Its connections are opened with the first call. */
export class ConversionWebhook implements Converter {
  readonly webhook: WebhookConversion;
  readonly #deps: ConversionDeps;
  #client: WebhookClient | undefined;

  constructor(webhook: WebhookConversion, deps: ConversionDeps) {
    this.webhook = webhook;
    this.#deps = deps;
  }

  async convert(objects: readonly Convertible[], desired: Desired): Promise<readonly ApiObject[]> {
    const { clientConfig = {}, conversionReviewVersions = [] } = this.webhook;
    const review = { uid: randomUUID(), version: reviewVersion(conversionReviewVersions), desired, objects };
    const began = performance.now();
    let failure: ConversionFailureType | undefined;
    try {
      this.#client ??= new WebhookClient(this.#deps.targetOf(clientConfig), { mostBytes: MOST_BYTES, prefix: 'failed: ' });
      return readReview(await this.#client.call(() => reviewText(review), TIMEOUT_MS), review);
    } catch (error) {
      failure = error instanceof UnusableReview ? error.type : 'conversion_webhook_call_failure';
      if (!(error instanceof WebhookFailure)) throw error;
      throw conversionError(objects[0]!, error);
    } finally {
      const { definition, meter } = this.#deps;
      const seconds = (performance.now() - began) / 1_000;
      meter.called({ definition, from: objects[0]?.apiVersion ?? '', to: desired.apiVersion, seconds, failure });
    }
  }

  /** Closes the connections once no call is under way. */
  close(): void {
    this.#client?.close();
  }
}

function conversionError({ apiVersion, kind }: Convertible, failure: WebhookFailure): ApiError {
  const { message: why } = failure;
  const clause = /^(failed|returned)\b/.test(why) ? why : `failed: ${why}`;
  const text = `conversion webhook for ${apiVersion}, Kind=${kind} ${clause}`;
  return new ApiError('INTERNAL', 'InternalError', text, { cause: failure, parts: { of: 'text', message: text } });
}
