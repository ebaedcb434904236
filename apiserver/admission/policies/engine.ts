/** What compiles and evaluates expressions: one module, which is loaded with the first policy or match condition. */
export { compileMatchConditions, compilePolicy } from './compile-policy.ts';
export { conditionsHold, EvaluationError, judge, newBudget } from './evaluate.ts';
