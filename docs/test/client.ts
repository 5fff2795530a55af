// SPDX-License-Identifier: Apache-2.0

// A program that uses the client that OpenAPI Generator makes from docs/api.yaml (docs/test/api.py): it verifies a receipt,
// then sends a wrong request, and prints what the types of the client say about both.

import { Configuration, Problem, ProblemFromJSON, ResponseError, VerificationApi, VerifyAnswer } from "./generated";

declare const process: { argv: string[] };

async function main([url, receipt, bundleId]: string[]): Promise<void> {
  const api = new VerificationApi(new Configuration({ basePath: url }));
  const answer: VerifyAnswer = await api.verify({ verifyRequest: { receipt, bundleId } });
  const dates = answer.transactions.every((transaction) => transaction.purchaseDate instanceof Date);
  const problem = await problemOf(api.verify({ verifyRequest: { receipt, bundleId: "" } }));
  console.log(JSON.stringify({ verdict: answer.verdict, dates, code: problem.code, field: problem.field }));
}

async function problemOf(request: Promise<VerifyAnswer>): Promise<Problem> {
  try {
    await request;
  } catch (error) {
    if (error instanceof ResponseError) return ProblemFromJSON(await error.response.json());
    throw error;
  }
  throw new Error("the gateway accepts a wrong request");
}

void main(process.argv.slice(2));
